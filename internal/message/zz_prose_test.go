package message_test
import ("testing";"os";"fmt";"runpython/internal/message";"bufio";"encoding/json")
func TestProseDev(t *testing.T){
 f,err:=os.Open("/tmp/prose.jsonl"); if err!=nil {t.Skip()}
 sc:=bufio.NewScanner(f); sc.Buffer(nil,1<<20); n,c,k,mx,ra:=0,0,0,0,0
 for sc.Scan(){ var s string; json.Unmarshal(sc.Bytes(),&s); n++
  m:=message.Read(s)
  if len(m.Candidates)>0 {c++}
  if m.Kind==message.Code {k++; fmt.Printf("CODE %.200q\n",s)}
  if m.Kind==message.Mixed {mx++; fmt.Printf("MIXED %.300q %.200q\n",s,m.Candidates[0].Code)}
  if m.Kind==message.Prose && len(m.Candidates)>0 && ra<150 {ra++; fmt.Printf("MAYBE %.100q\n",s)}
 }
 fmt.Println(n,c,k,mx)
}
