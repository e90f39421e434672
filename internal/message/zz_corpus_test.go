package message_test
import ("testing";"os";"fmt";"runpython/internal/message";"bufio";"strings")
func TestCorpusDev(t *testing.T){
 f,err:=os.Open("/tmp/corpus.txt"); if err!=nil {t.Skip()}
 sc:=bufio.NewScanner(f); n,bad,notmeant:=0,0,0
 for sc.Scan(){ b,err:=os.ReadFile(sc.Text()); if err!=nil{continue}
  s:=string(b)
  m:=message.Read(s); n++
  s=strings.TrimPrefix(s,"\ufeff"); s=strings.ReplaceAll(s,"\r\n","\n"); s=strings.ReplaceAll(s,"\r","\n")
  if len(m.Candidates)==0 { bad++; fmt.Println("NONE",sc.Text(),m.Kind); continue}
  if m.Candidates[0].Code!=s { bad++; fmt.Println("DIFF",sc.Text(),m.Candidates[0].Note)}
  if m.Kind!=message.Code {notmeant++; fmt.Println("KIND",m.Kind, sc.Text())}
 }
 fmt.Println(n,bad,notmeant)
}
