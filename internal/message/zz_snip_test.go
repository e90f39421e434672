package message_test
import ("testing";"os";"fmt";"runpython/internal/message";"bufio";"encoding/json";"slices")
func TestSnipDev(t *testing.T){
 f,err:=os.Open("/tmp/snips.jsonl"); if err!=nil {t.Skip()}
 sc:=bufio.NewScanner(f); sc.Buffer(nil,1<<20); n,bad:=0,0
 for sc.Scan(){ var s string; json.Unmarshal(sc.Bytes(),&s); n++
  m:=message.Read(s)
  if !slices.ContainsFunc(m.Candidates,func(c message.Candidate)bool{return c.Code==s}) { bad++; if bad<60 {fmt.Printf("%q %v\n",s,m.Candidates)}}
 }
 fmt.Println(n,bad)
}
